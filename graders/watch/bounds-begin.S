# Linked before the student's object: where its code begins.
.text
.globl watch_text_begin
watch_text_begin:
