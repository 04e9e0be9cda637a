package trouble

import (
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kinglet-go/kinglet/internal/trouble"
)

// Kind is what is wrong, as far as it matters for what to do about it: one of the
// library's kinds, or Config.
type Kind uint8

// The kinds of which this package, or its callers, know more than the library.
const (
	Other        = Kind(trouble.Other)
	Forbidden    = Kind(trouble.Forbidden)
	Unauthorized = Kind(trouble.Unauthorized)
	NotFound     = Kind(trouble.NotFound)
	Invalid      = Kind(trouble.Invalid)
	Unreachable  = Kind(trouble.Unreachable)
	Untrusted    = Kind(trouble.Untrusted)
	Login        = Kind(trouble.Login)
	Throttled    = Kind(trouble.Throttled)
	Server       = Kind(trouble.Server)
	// Config: the kubeconfig.
	Config = Kind(trouble.Kinds)
)

// Classify finds out what kind of trouble err is.
func Classify(err error) Kind {
	if clientcmd.IsConfigurationInvalid(err) || clientcmd.IsEmptyConfig(err) || clientcmd.IsContextNotFound(err) {
		return Config
	}
	return Kind(trouble.Classify(err))
}

// Lasting reports whether another request will not help until someone does
// something.
func (k Kind) Lasting() bool { return k == Config || trouble.Kind(k).Lasting() }

// Short names the kind in a status line.
func (k Kind) Short() string {
	if k == Config {
		return "bad kubeconfig"
	}
	return trouble.Kind(k).Short()
}
