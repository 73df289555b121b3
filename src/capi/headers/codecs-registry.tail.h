/** Inside the library: adds the codecs above. Not exported by the shared library. */
void register_codecs(void);
