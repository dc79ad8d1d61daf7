/** Which of several sources of payload sends next, and limits of rates. Not exported. */
package io.kcp4j.scheduling;
