package wire

import (
	"encoding/binary"
	"flag"
	"testing"

	"github.com/kinglet-go/kinglet/internal/tests/testkit"
	"github.com/kinglet-go/kinglet/internal/wire/filler"
)

var trials = flag.Int("trials", testkit.Trials(2_000), "how many trials compare the decoders with the official ones")

// rigSteps is how many versions a trial has at most.
const rigSteps = 12

// trial runs the rig once, on a script of its own. It returns how many versions
// were compared.
func trial(seed uint64) (decodings int, err error) {
	r, err := newRig(filler.NewScript(binary.LittleEndian.AppendUint64(nil, seed)))
	if err != nil {
		return 0, err
	}
	err = r.run(rigSteps)
	return r.decodings, err
}

func TestWhateverIsHeldTheDecodersAgreeWithTheOfficialOnes(t *testing.T) {
	seed := testkit.Seed(t)
	all := 0
	for i := range *trials {
		n, err := trial(seed + uint64(i))
		if all += n; err != nil {
			t.Fatalf("-seed %d, in trial %d, version %d: %v", seed+uint64(i), i+1, all, err)
		}
		if (i+1)%100_000 == 0 {
			t.Logf("%d versions in %d trials so far", all, i+1)
		}
	}
	t.Logf("%d versions in %d trials", all, *trials)
}

// FuzzVersions is the rig with decisions of the fuzzer's.
func FuzzVersions(f *testing.F) {
	for which := range subjects {
		f.Add([]byte{byte(which), 1, 0, 2, 3, 4, 5, 6, 7})
	}
	f.Fuzz(func(t *testing.T, decisions []byte) {
		r, err := newRig(filler.NewScript(decisions))
		if err != nil {
			t.Fatal(err)
		}
		if err := r.run(4 + r.Intn(rigSteps-4)); err != nil {
			t.Fatal(err)
		}
	})
}
