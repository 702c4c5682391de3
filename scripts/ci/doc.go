//go:build unix

// Command ci runs the steps of .ci/steps, judges them, and prints what they cost.
//
//	ci run [STEP...]        all steps, or only those named
//	ci test NAME ARGS...    for steps: go test with ARGS, whose output is kept as NAME
//
// .ci/run builds and starts it.
//
// A step fails if its script fails, or if a test that it ran fails. One kind of failure
// may be the fault of the machine: a test that only says that a deadline passed, while
// another step ran. When all steps have ended, and nothing else is wrong with its step,
// such a test runs again, three times and alone. If it passes each time, the step is "passed, flaky", and
// the ledger at the end names the test. More than maxFlaky of them fail the run.
//
// Nothing else ever runs again. A data race, a panic or a wrong answer that one run of
// three shows is a defect, and the next run may not show it.
package main
