// Headers as older trees have them: without guards, in an order that matters,
// with instructions by name, and no snprintf.
typedef unsigned int uint;
typedef unsigned char uchar;
typedef unsigned long uint64;
