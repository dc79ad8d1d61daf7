/** Selects the fastest of several implementations of a loop. Not exported. */
package io.kcp4j.kernel;
