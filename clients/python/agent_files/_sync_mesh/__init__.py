# Made by write_sync.py of the file of the same name in _async_mesh.
