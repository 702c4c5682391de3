// Package steps contains only tests. They prove that the work for what a peer sends is
// linear in its bytes, with a small factor. They count steps, not time.
//
// tests/steps/instrument rewrites the sources for that; its documentation says how to run
// the tests. Without it only TestEveryFieldHasShapes runs, which proves that the table is
// complete.
package steps
