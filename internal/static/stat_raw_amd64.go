//go:build linux

package static

import "syscall"

const sysFstatat = syscall.SYS_NEWFSTATAT
