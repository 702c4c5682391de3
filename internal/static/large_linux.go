package static

import "syscall"

// LargeFile is a flag to open and make files of 2 GiB and more with 32 bits: os.Root doesn't ask for
// that (Go 1.26), while os.OpenFile does.
const LargeFile = syscall.O_LARGEFILE
