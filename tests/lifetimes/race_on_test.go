//go:build race

package lifetimes

const raceEnabled = true
