// Pack makes archives for a release: the same folder gives the same bytes on all systems.
//
//	go run ./scripts/pack -time UNIX -o FILE.tar.gz|FILE.zip DIR
//	go run ./scripts/pack -sums DIR
//
// The first form packs DIR under its own name. All files get the time UNIX, in seconds
// since 1970, no owner, and the permissions 0755 if their owner may run them, otherwise
// 0644. The second one prints the SHA-256 of the archives in DIR, as sha256sum does.
package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"log"
	"os"
	"path/filepath"
	"strings"
	"time"
)

func main() {
	log.SetFlags(0)
	unix := flag.Int64("time", 0, "the time of all files, in seconds since 1970")
	out := flag.String("o", "", "the archive to write, .tar.gz or .zip")
	sums := flag.String("sums", "", "print the checksums of the archives in this folder")
	flag.Parse()
	var err error
	switch {
	case *sums != "":
		err = printSums(os.Stdout, *sums)
	case *out == "" || flag.NArg() != 1:
		flag.Usage()
		os.Exit(2)
	default:
		err = packFile(*out, flag.Arg(0), time.Unix(*unix, 0).UTC())
	}
	if err != nil {
		log.Fatalf("pack: %v", err)
	}
}

// archive takes the files of a folder, in the order of their names.
type archive interface {
	add(name string, mode fs.FileMode, data []byte) error
	Close() error
}

func packFile(name, dir string, at time.Time) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	defer f.Close()
	var a archive
	switch {
	case strings.HasSuffix(name, ".tar.gz"):
		a = newTarball(f, at)
	case strings.HasSuffix(name, ".zip"):
		a = &zipball{zip.NewWriter(f), at}
	default:
		return fmt.Errorf("%s is neither .tar.gz nor .zip", name)
	}
	if err := pack(a, dir); err != nil {
		return err
	}
	return errors.Join(a.Close(), f.Close())
}

// pack adds the files below dir. Their names begin with that of dir.
func pack(a archive, dir string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		mode := fs.FileMode(0o644)
		if info.Mode()&0o100 != 0 || strings.HasSuffix(path, ".exe") {
			mode = 0o755
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(filepath.Dir(dir), path)
		if err != nil {
			return err
		}
		return a.add(filepath.ToSlash(name), mode, data)
	})
}

type tarball struct {
	*tar.Writer
	gz *gzip.Writer
	at time.Time
}

func newTarball(w io.Writer, at time.Time) *tarball {
	gz, _ := gzip.NewWriterLevel(w, gzip.BestCompression)
	return &tarball{tar.NewWriter(gz), gz, at}
}

func (t *tarball) add(name string, mode fs.FileMode, data []byte) error {
	h := &tar.Header{Name: name, Mode: int64(mode), Size: int64(len(data)), ModTime: t.at, Format: tar.FormatUSTAR}
	if err := t.WriteHeader(h); err != nil {
		return err
	}
	_, err := t.Write(data)
	return err
}

func (t *tarball) Close() error { return errors.Join(t.Writer.Close(), t.gz.Close()) }

type zipball struct {
	*zip.Writer
	at time.Time
}

func (z *zipball) add(name string, mode fs.FileMode, data []byte) error {
	h := &zip.FileHeader{Name: name, Method: zip.Deflate, Modified: z.at}
	h.SetMode(mode)
	w, err := z.CreateHeader(h)
	if err != nil {
		return err
	}
	_, err = w.Write(data)
	return err
}

func printSums(w io.Writer, dir string) error {
	var names []string
	for _, pattern := range []string{"*.tar.gz", "*.zip"} {
		found, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			return err
		}
		names = append(names, found...)
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(w, "%x  %s\n", sha256.Sum256(data), filepath.Base(name)); err != nil {
			return err
		}
	}
	return nil
}
