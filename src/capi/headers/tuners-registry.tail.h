/** Inside the library: adds the tuners above. Not exported by the shared library. */
void register_tuners(void);
