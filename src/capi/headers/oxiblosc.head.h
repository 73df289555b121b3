/* What this library can do that the reference cannot. A program that uses it runs on no other libblosc2. */

#include "blosc2/blosc2-export.h"
#include "blosc2.h"
