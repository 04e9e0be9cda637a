package wire

import (
	"unsafe"

	"github.com/kinglet-go/kinglet/internal/wire/json"
	"github.com/kinglet-go/kinglet/internal/wire/protobuf"
	"github.com/kinglet-go/kinglet/store"
)

// ProtobufKey reads an object's namespace and name out of its message. The
// strings alias raw: they are good for a look-up and nothing else.
func ProtobufKey(raw []byte) (store.Key, bool) {
	id, ok := protobuf.IdentityOf(raw)
	return aliasing(id.Namespace, id.Name), ok
}

// JSONKey is ProtobufKey for JSON.
func JSONKey(raw []byte) (store.Key, bool) {
	id, ok := json.IdentityOf(raw)
	return aliasing(id.Namespace, id.Name), ok
}

func aliasing(namespace, name []byte) store.Key {
	return store.Key{
		Namespace: unsafe.String(unsafe.SliceData(namespace), len(namespace)),
		Name:      unsafe.String(unsafe.SliceData(name), len(name)),
	}
}
