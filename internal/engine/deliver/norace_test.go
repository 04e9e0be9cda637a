//go:build !race

package deliver

const stallEvents = 1_000_000
