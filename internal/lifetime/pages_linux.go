package lifetime

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// reserve returns address space that can't be read or written and takes no memory.
func reserve(size int) ([]byte, error) {
	b, err := unix.Mmap(-1, 0, size, unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
	if err != nil {
		return nil, fmt.Errorf("lifetime: reserving %d bytes of address space: %w", size, err)
	}
	// A huge page would take more memory than a chunk. Kernels without them refuse.
	_ = unix.Madvise(b, unix.MADV_NOHUGEPAGE)
	return b, nil
}

// unreserve gives address space back that was never used.
func unreserve(b []byte) { _ = unix.Munmap(b) }

// readable makes memory readable and writable. Its bytes are 0, unless discard failed.
func readable(b []byte) error {
	if err := unix.Mprotect(b, unix.PROT_READ|unix.PROT_WRITE); err != nil {
		return fmt.Errorf("lifetime: making pages readable: %w", err)
	}
	return nil
}

// unreadable makes memory unreadable. After an error it is still readable.
func unreadable(b []byte) error {
	if err := unix.Mprotect(b, unix.PROT_NONE); err != nil {
		return fmt.Errorf("lifetime: making pages unreadable: %w", err)
	}
	return nil
}

// discard gives memory that is unreadable back to the system. After an error it has kept its
// bytes: memory that is locked does.
func discard(b []byte) error { return unix.Madvise(b, unix.MADV_DONTNEED) }
