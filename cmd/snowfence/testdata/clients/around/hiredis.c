#include <err.h>
#include <stdio.h>
#include <hiredis/hiredis.h>

int main(void)
{
SNIPPET
}
