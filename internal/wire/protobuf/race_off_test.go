//go:build !race

package protobuf

const raceDetector = false
