package testpods

import (
	"math/rand/v2"

	"k8s.io/apimachinery/pkg/types"
)

// letters are those of the random suffixes of Kubernetes' names, in order.
const letters = "2456789bcdfghjklmnpqrstvwxz"

// suffixes is the number of suffixes of five letters.
const suffixes = 27 * 27 * 27 * 27 * 27

// name returns a name with a suffix as a ReplicaSet makes it, except that the names of a
// template rise with i, because a list comes in key order.
func (c *Collection) name(t *template, i, of int) string {
	share := c.opts.Pods/c.opts.Templates + 1
	stride := suffixes / share
	n := of*stride + c.draw(drawPod, i, 1).IntN(stride)
	end := make([]byte, 5)
	for k := len(end) - 1; k >= 0; k-- {
		end[k] = letters[n%len(letters)]
		n /= len(letters)
	}
	return t.app + "-" + t.hash + "-" + string(end)
}

func word(rnd *rand.Rand, n int) string { return spell(rnd, n, letters) }

func hexadecimal(rnd *rand.Rand, n int) string { return spell(rnd, n, "0123456789abcdef") }

func spell(rnd *rand.Rand, n int, alphabet string) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = alphabet[rnd.IntN(len(alphabet))]
	}
	return string(b)
}

func uid(rnd *rand.Rand) types.UID {
	h := hexadecimal(rnd, 32)
	return types.UID(h[:8] + "-" + h[8:12] + "-4" + h[13:16] + "-a" + h[17:20] + "-" + h[20:])
}
