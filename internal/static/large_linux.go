package static

import "syscall"

// largeFile opens files of 2 GiB and more with 32 bits: os.Root doesn't ask for that (Go 1.26).
const largeFile = syscall.O_LARGEFILE
