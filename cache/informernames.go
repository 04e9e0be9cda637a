package cache

import kc "k8s.io/client-go/tools/cache"

// Names of informers are client-go's, so that they are unique in a process
// that runs informers of both.

// NewInformerName reserves a name for a factory of informers, under which
// their metrics appear. The error reports that the name is empty, or in use. It
// is in use until Release is called on it.
func NewInformerName(name string) (*InformerName, error) { return kc.NewInformerName(name) }

// ResetInformerNamesForTesting releases every name of the process.
func ResetInformerNamesForTesting() { kc.ResetInformerNamesForTesting() }
