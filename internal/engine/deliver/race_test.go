//go:build race

package deliver

// stallEvents is smaller where every event costs ten times as much.
const stallEvents = 50_000
