//go:build unix

// Command ci runs the steps of .ci/steps, judges them, and prints what they cost.
//
//	ci run [STEP...]        the steps of the gate, all with FULL=1, or only those named
//	ci run -n               lists the steps and their tiers
//	ci test NAME ARGS...    for steps: go test with ARGS, whose output is kept as NAME
//
// .ci/run builds and starts it.
//
// A step fails if its script fails, or if a test that it ran fails. A test that failed runs
// again, alone, when all steps have ended, up to twice. If it passes, the run passes, and its
// last page names the test as flaky. If a test binary ran out of time, all tests of its package
// run again.
//
// .ci/known.txt lists tests that fail today. A step that has some passes if these fail, and no
// other test does; it fails if one of them passes.
//
// Never forgiven are a data race, a test binary that ended before its tests had, and what a test
// reports by package gate. Other words in the output of tests prove nothing.
//
// A step is ended only if it hangs. After an hour no step begins any more, except those of
// .ci/steps.txt that are there always; see the fields of runner for the limits.
package main
