//go:build race

package untyped

const raceEnabled = true
