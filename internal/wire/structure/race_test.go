//go:build race

package structure

// raceAllocs is what the race detector adds.
const raceAllocs = 1
