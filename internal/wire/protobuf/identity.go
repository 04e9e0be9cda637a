package protobuf

// Identity is the identity in an object's metadata. The slices alias the object's
// bytes, and are nil for absent fields.
type Identity struct {
	Namespace, Name, UID, ResourceVersion []byte
}

// Field numbers of metadata in an object, and of Identity's fields in metadata. They
// are the same for every type that has an ObjectMeta.
const (
	numberMetadata        = 1
	numberName            = 1
	numberNamespace       = 3
	numberUID             = 5
	numberResourceVersion = 6
	numberManagedFields   = 17
)

// IdentityOf reads the identity from an object's bytes, without allocating. It is
// not ok if there is no metadata, or it occurs twice, or the bytes are malformed at
// its level or above.
func IdentityOf(raw []byte) (id Identity, ok bool) {
	var meta []byte
	for i := 0; i < len(raw); {
		number, wire, next := tagAt(raw, i)
		if next < 0 {
			return Identity{}, false
		}
		if number == numberMetadata {
			if wire != wireBytes || ok {
				return Identity{}, false
			}
			begin, end := extent(raw, next)
			if end < 0 {
				return Identity{}, false
			}
			meta, ok, i = raw[begin:end], true, end
			continue
		}
		if i = skip(raw, next, wire); i < 0 {
			return Identity{}, false
		}
	}
	return id, ok && id.read(meta)
}

func (id *Identity) read(meta []byte) bool {
	for i := 0; i < len(meta); {
		number, wire, next := tagAt(meta, i)
		if next < 0 {
			return false
		}
		var field *[]byte
		switch number {
		case numberName:
			field = &id.Name
		case numberNamespace:
			field = &id.Namespace
		case numberUID:
			field = &id.UID
		case numberResourceVersion:
			field = &id.ResourceVersion
		default:
			if i = skip(meta, next, wire); i < 0 {
				return false
			}
			continue
		}
		begin, end := extent(meta, next)
		if wire != wireBytes || end < 0 {
			return false
		}
		// If a string occurs twice, the last one counts.
		*field, i = meta[begin:end], end
	}
	return true
}
