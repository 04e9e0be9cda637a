package untyped

// path is a place in objects, by the names on the way to it, in 64 bits: the
// elements of an array are one place. Two places that are taken for one cost
// time, and nothing else.
type path uint64

func (p path) member(nameHash uint64) path { return (p ^ path(nameHash)) * 0x9e3779b97f4a7c15 }

func (p path) element() path { return p*0x9e3779b97f4a7c15 + 1 }

// odds remembers of each place how much more often than not the table did not
// know its units. To ask takes the extent of the unit and its hash before it is
// decoded; where nothing has ever been known, as of metadata and status, which
// hold what is an object's own, that is a third of all time.
type odds [1 << oddsBits]uint16

const (
	oddsBits = 10
	// hopeless is after how many it is asked for one in 16 only. An object's
	// kind may have some thousand templates, whose objects come in any order,
	// and of each the table must see two before it knows the third.
	hopeless = 1 << 13
	oneIn    = 16
	// A hit makes up for that many misses: who hits less often than that is
	// hopeless, too. It must not make up for all: names that are an object's
	// own, as in managedFields, are places of their own, and hit anywhere.
	worth = 16
)

// ask reports whether to ask the table.
func (o *odds) ask(p path) bool {
	n := &o[p>>(64-oddsBits)]
	if *n < hopeless {
		return true
	}
	*n++
	if *n < hopeless+oneIn {
		return false
	}
	*n = hopeless
	return true
}

func (o *odds) learn(p path, known bool) {
	n := &o[p>>(64-oddsBits)]
	if known {
		*n -= min(*n, worth)
	} else if *n < hopeless {
		*n++
	}
}
