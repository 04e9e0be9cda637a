package source

// Code for mutations of this package; see internal/mutant. Only a build with the
// tag mutants calls it, and the linker drops it from others.

// inherited reports whether typed objects have their kind from anything but a
// TypeMeta that is a field of their own.
func (k *kind[T]) inherited() bool {
	f, ok := k.elem.FieldByName("TypeMeta")
	return k.form == typed && !(ok && len(f.Index) == 1)
}
