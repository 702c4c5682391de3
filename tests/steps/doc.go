// Package steps holds no code. Its tests prove that the work for what a peer sends is
// linear in its bytes, with a small factor: they count steps, not time.
//
// The sources are rewritten for that by tests/steps/instrument; see there how to run
// them. Without it only TestEveryFieldHasShapes runs, which keeps the table whole.
package steps
