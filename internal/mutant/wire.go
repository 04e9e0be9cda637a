package mutant

// The mutations of the decoders (internal/wire). The decoders' own comparisons
// with the official ones have to notice them, since the trials of the torture
// have neither the types nor the bytes that show them.
const (
	// TrustForeignMemo treats any previous version as one that the decoder made.
	TrustForeignMemo Mutation = firstWire + iota
	// ShareHiddenState treats values that may have hidden state as plain ones.
	ShareHiddenState
	// OfferWrongExtent offers a value under the hash of more bytes than it has.
	OfferWrongExtent
	// UnchangedByValue treats floating-point numbers that are equal by value as
	// unchanged, whatever their bits.
	UnchangedByValue
	endWire
)

const firstWire Mutation = 1000

// Wire are the mutations of the decoders.
func Wire() []Mutation { return between(firstWire, endWire) }

func (m Mutation) wireName() string {
	return [endWire - firstWire]string{
		"trust foreign memo", "share hidden state", "offer wrong extent", "unchanged by value",
	}[m-firstWire]
}
