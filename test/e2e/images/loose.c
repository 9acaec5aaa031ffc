// SPDX-License-Identifier: Apache-2.0
//
// A static program, which no preloaded library reaches. It opens the first GPU
// as CUDA programs do, and waits.
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

int main(void) {
    if (open("/dev/nvidia-uvm", O_RDWR) < 0 || open("/dev/nvidia0", O_RDWR) < 0) {
        perror("open the GPU's device files");
        return 1;
    }
    puts("loose");
    fflush(stdout);
    pause();
    return 0;
}
