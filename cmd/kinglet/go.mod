module github.com/kinglet-go/kinglet/cmd/kinglet

go 1.26.0

require github.com/kinglet-go/kinglet v0.0.0

replace github.com/kinglet-go/kinglet => ../..
