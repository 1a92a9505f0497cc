// The same assertions under C++17: one text, so that the two languages cannot drift apart.
#include "layout.c"
