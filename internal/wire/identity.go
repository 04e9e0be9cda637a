package wire

import (
	"unsafe"

	"github.com/kinglet-go/kinglet/internal/wire/formats"
	"github.com/kinglet-go/kinglet/internal/wire/json"
	"github.com/kinglet-go/kinglet/internal/wire/protobuf"
	"github.com/kinglet-go/kinglet/store"
)

// Key reads an object's namespace and name from its bytes, without decoding it. The
// strings alias raw, so use them for a lookup only. It is not ok if the key can't be
// read cheaply.
func Key(format formats.Format, raw []byte) (store.Key, bool) {
	switch format {
	case formats.Protobuf:
		id, ok := protobuf.IdentityOf(raw)
		return aliasing(id.Namespace, id.Name), ok
	case formats.JSON:
		id, ok := json.IdentityOf(raw)
		return aliasing(id.Namespace, id.Name), ok
	}
	return store.Key{}, false
}

func aliasing(namespace, name []byte) store.Key {
	return store.Key{
		Namespace: unsafe.String(unsafe.SliceData(namespace), len(namespace)),
		Name:      unsafe.String(unsafe.SliceData(name), len(name)),
	}
}
