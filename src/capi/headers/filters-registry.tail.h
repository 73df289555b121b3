/** Inside the library: adds the filters above. Not exported by the shared library. */
void register_filters(void);
