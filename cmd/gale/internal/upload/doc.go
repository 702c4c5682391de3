// Package upload stores files in a folder for clients that aren't trusted. It knows which
// names may be used, opens folders without following symbolic links, and writes each file
// under a temporary name, so that no one sees a part of it under its own name. It doesn't
// know HTTP.
package upload
