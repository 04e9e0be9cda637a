module github.com/kinglet-go/kinglet/bench

go 1.26.0

require github.com/kinglet-go/kinglet v0.0.0

replace github.com/kinglet-go/kinglet => ..
