//go:build race

package protobuf

const raceDetector = true
