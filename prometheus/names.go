package prometheus

import "github.com/kinglet-go/kinglet/internal/uniquename"

// names makes names unique. Two series of one name would make the registry refuse the
// whole scrape.
type names struct{ given uniquename.Names }

// unique returns name as a label has it, with a number if need be.
func (n *names) unique(name string) string { return n.given.Of(valid(name)) }
