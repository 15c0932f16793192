-- A migration is applied while the functions of the release before still render, so that a version that it raised would
-- be given to the old text. The functions now add the revision of their rendering to the version themselves.

drop function mesh.raise_all_config_versions();
