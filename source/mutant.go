package source

// What mutations of this package do; see internal/mutant. Nothing calls it but
// in a build with the tag mutants, and the linker leaves it out.

// inherited reports whether typed objects have their kind from anything but a
// TypeMeta that is a field of their own.
func (k *kind[T]) inherited() bool {
	f, ok := k.elem.FieldByName("TypeMeta")
	return k.form == typed && !(ok && len(f.Index) == 1)
}
