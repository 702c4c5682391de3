package gale

// noCopy makes go vet report values that are copied after their first use. A struct
// that has it as a field gets this check; the field takes no memory.
type noCopy struct{}

// Lock is what go vet looks for.
func (*noCopy) Lock() {}

// Unlock is what go vet looks for.
func (*noCopy) Unlock() {}
