package source

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kinglet-go/kinglet/store"
)

// identity is what tells one object from all others, as far as it is known.
type identity struct {
	key     store.Key
	uid     types.UID
	version string
}

// jsonIdentity reads as much as it can find in an object that could not be
// decoded. An identity without a name is none.
func jsonIdentity(raw []byte) identity {
	var id identity
	// What can be followed before a fault counts; the fault is known already.
	_ = members(raw, func(name, value []byte) bool {
		if string(name) != "metadata" {
			return true
		}
		id = identity{}
		_ = members(value, func(name, value []byte) bool {
			s, ok := unquote(value)
			if !ok {
				return true
			}
			switch string(name) {
			case "name":
				id.key.Name = s
			case "namespace":
				id.key.Namespace = s
			case "uid":
				id.uid = types.UID(s)
			case "resourceVersion":
				id.version = s
			}
			return true
		})
		return true
	})
	return id.named()
}

// protoIdentity is jsonIdentity for protobuf: every object has its ObjectMeta
// as field 1.
func protoIdentity(msg []byte) identity {
	var id identity
	_ = protoFields(msg, func(field int, value []byte) bool {
		if field != 1 {
			return true
		}
		// The numbers are ObjectMeta's.
		_ = protoFields(value, func(field int, value []byte) bool {
			switch field {
			case 1:
				id.key.Name = string(value)
			case 3:
				id.key.Namespace = string(value)
			case 5:
				id.uid = types.UID(value)
			case 6:
				id.version = string(value)
			}
			return true
		})
		return true
	})
	return id.named()
}

func (id identity) named() identity {
	if id.key.Name == "" {
		id.key = store.Key{}
	}
	return id
}

// jsonKind reads apiVersion and kind.
func jsonKind(raw []byte) schema.GroupVersionKind {
	var apiVersion, kind string
	_ = members(raw, func(name, value []byte) bool {
		// As for every decoder of JSON, the last that is no null counts.
		if s, ok := unquote(value); ok {
			switch string(name) {
			case "apiVersion":
				apiVersion = s
			case "kind":
				kind = s
			}
		}
		return true
	})
	return schema.FromAPIVersionAndKind(apiVersion, kind)
}

// firstKind is jsonKind for an object that has no name twice: it stops when it
// has both.
func firstKind(raw []byte) schema.GroupVersionKind {
	var apiVersion, kind string
	_ = members(raw, func(name, value []byte) bool {
		switch string(name) {
		case "apiVersion":
			apiVersion, _ = unquote(value)
		case "kind":
			kind, _ = unquote(value)
		}
		return apiVersion == "" || kind == ""
	})
	return schema.FromAPIVersionAndKind(apiVersion, kind)
}
