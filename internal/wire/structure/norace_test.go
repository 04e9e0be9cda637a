//go:build !race

package structure

const raceAllocs = 0
